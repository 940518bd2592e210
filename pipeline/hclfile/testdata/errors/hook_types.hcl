agent "m" {
  command = ["x"]
}
task "a" {
  run = ["true"]
  on_fail "agent" {
    use          = agent.m
    prompt       = 5      # ERROR: prompt must be text in quotes
    output       = "Diff" # ERROR: output cannot be "Diff"
    pass_secrets = "true" # ERROR: pass_secrets must be true or false
    ci           = null   # ERROR: ci is null
    protect      = "x"    # ERROR: Write protect = ["**/*_test.go"].
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
