agent "m" {
  command = ["x"]
}
task "a" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
  on_fail "agent" { # ERROR: a second on_fail "agent" of task "a"
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
