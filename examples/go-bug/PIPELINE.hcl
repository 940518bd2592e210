# A Go module with a real bug: the tenth piece should be free, and is not.

task "vet" {
  description = "Look for suspicious code"
  run         = ["go", "vet", "./..."]
  inputs      = ["**/*.go", "go.mod"]
}

task "test" {
  description = "Run the tests"
  depends_on  = [task.vet]
  run         = ["go", "test", "./..."]
  inputs      = ["**/*.go", "go.mod"]
  timeout     = "5m"

  on_fail "agent" {
    use    = agent.fixer
    prompt = "Find the cause of the failing test and fix it with the smallest change."
    budget {
      attempts   = 2
      wall_clock = "3m"
    }
  }
}

# No model, no account, no network: a script that knows this one bug. Put your own agent here;
# it gets the prompt on standard input and works in its current directory, a scratch copy.
agent "fixer" {
  command = ["./tools/fixer.sh"]
}
