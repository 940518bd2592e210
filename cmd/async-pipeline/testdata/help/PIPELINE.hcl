# The project that the examples of --help are run in: its test fails, and an agent of a few lines proposes what mends it.
variable "go" {
  type    = string
  default = "go"
}

task "build" {
  description = "Compile the program"
  run         = ["sh", "-c", "echo compiled with $GO"]
  env         = { GO = var.go }
}

task "lint" {
  description = "Look for suspicious code"
  run         = ["sh", "-c", "echo nothing suspicious"]
}

task "test" {
  description = "Add two and two"
  depends_on  = [task.build]
  run         = "echo 2 + 2; grep -qx 'const sum = 4' sum.go"
  on_fail "agent" {
    use = agent.script
    budget {
      attempts   = 1
      wall_clock = "60s"
    }
    allow = [["go", "vet", "**"]]
  }
}

agent "script" {
  command = ["./tools/agent.sh"]
}
