agent "m" {
  command = ["x"]
}
task "a" {
  run = ["true"]
  on_fail "agent" { # ERROR: has no budget
    use = agent.m
  }
}
task "b" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget { # ERROR: the budget has no attempts # ERROR: the budget has no wall_clock
    }
  }
}
task "c" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 0    # ERROR: attempts must be a whole number from 1 to 5
      wall_clock = "0s" # ERROR: wall_clock must be longer than nothing
    }
  }
}
task "d" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 6     # ERROR: from 1 to 5
      wall_clock = "-5m" # ERROR: longer than nothing
    }
  }
}
task "e" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1.5  # ERROR: from 1 to 5
      wall_clock = "90" # ERROR: Write "90s" for seconds or "90m" for minutes.
    }
  }
}
task "f" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget = { attempts = 1 } # ERROR: budget is a block
  }
}
task "g" {
  run = ["true"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = "2"  # ERROR: attempts must be a whole number, without quotes
      wall_clock = null # ERROR: wall_clock is null
    }
    budget { # ERROR: a second budget block
      attempts = 1
    }
  }
}
