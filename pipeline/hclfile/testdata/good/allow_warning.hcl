agent "program" {
  command = ["./agent.sh"]
}
agent "another" {
  command = ["./other.sh"]
}
agent "native" {
  provider = "anthropic"
  model    = "m"
}
task "one" {
  run = ["true"]
  on_fail "agent" {
    use   = agent.program
    allow = [["go", "vet", "**"]] # WARN: allow binds no agent of this hook
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
task "both" {
  run = ["true"]
  on_fail "agent" {
    use      = agent.program
    fallback = [agent.another]
    allow    = [["go", "vet", "**"]] # WARN: A command or a CLI runs what it likes in its copy
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
task "bound" {
  run = ["true"]
  on_fail "agent" {
    use   = agent.native
    allow = [["go", "vet", "**"]]
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
task "bound_later" {
  run = ["true"]
  on_fail "agent" {
    use      = agent.program
    fallback = [agent.native]
    allow    = [["go", "vet", "**"]]
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
task "nothing" {
  run = ["true"]
  on_fail "agent" {
    use = agent.program
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
