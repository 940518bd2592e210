# The native agent: our own loop with a model. As it stands it asks a scripted model on this machine, which knows this one bug.

variable "provider" {
  default = "anthropic"
}
variable "model" {
  default = "scripted"
}
variable "base_url" {
  default = "http://127.0.0.1:8484"
}

task "test" {
  description = "Run the tests"
  run         = ["go", "test", "./..."]
  inputs      = ["**/*.go", "go.mod"]
  timeout     = "5m"

  on_fail "agent" {
    use    = agent.native
    prompt = "Find the cause of the failing test and fix it with the smallest change."
    budget {
      attempts   = 1
      wall_clock = "5m"
      tokens     = 500000
    }
    allow = [["go", "vet", "**"]]
  }
}

agent "native" {
  provider  = var.provider
  model     = var.model
  base_url  = var.base_url
  api_key   = secret("MODEL_KEY")
  max_turns = 20
}
