agent "mine" {
  command = ["x"]
}
task "a" {
  run = ["true"]
  on_fail "agent" {
    use = agent.mnie # ERROR: Did you mean mine?
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
task "b" {
  run = ["true"]
  on_fail "agent" {
    use = "mine" # ERROR: use must refer to an agent: Write agent.mine, without quotes.
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
task "c" {
  run = ["true"]
  on_fail "agent" { # ERROR: on_fail "agent" of task "c" names no agent
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
