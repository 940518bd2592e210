agent "a" {
  command = ["./a"]
}
task "both" {
  run = ["x"] # ERROR: task "both" has both run and an agent block: Take one of them out
  agent {
    use    = agent.a
    prompt = "x"
  }
}
task "neither" { # ERROR: task "neither" has nothing to run
  inputs = ["x"]
}
task "bare" {
  agent { # ERROR: the agent block of task "bare" names no agent: Write use = agent.NAME
    prompt = "x"
  }
}
task "mute" {
  agent { # ERROR: the agent block of task "mute" has no prompt: Write prompt =
    use = agent.a
  }
}
task "blank" {
  agent {
    use    = agent.b # ERROR: there is no agent "b"
    prompt = " "     # ERROR: prompt is empty
  }
}
task "much" {
  env        = { A = "1" } # ERROR: a task that an agent does has no env: What the agent gets of the environment is written in its own block
  pass_env   = ["A"]       # ERROR: a task that an agent does has no pass_env
  dotenv     = [".env"]    # ERROR: a task that an agent does has no dotenv
  dir        = "src"       # ERROR: a task that an agent does has no dir: The agent works in a copy of the whole tree
  outputs    = ["bin"]     # ERROR: a task that an agent does has no outputs: Its answer goes to the file that stdout_to names
  service    = false       # ERROR: a task that an agent does has no service
  depends_on = [task.neither]
  agent {
    use    = agent.a
    prompt = "x"
  }
  retry { # ERROR: a task that an agent does has no retry: Another try would cost as much again
    attempts = 2
  }
  ready { # ERROR: ready belongs to a service
    port = 1
  }
  on_fail "agent" { # ERROR: a task that an agent does has no on_fail "agent": A fix is judged by running a command again
    use = agent.a
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
  on_fail "run" {
    run = ["x"]
  }
}
task "cached" {
  inputs = ["x"]
  agent {
    use    = agent.a
    prompt = "x"
  }
  cache { # ERROR: the result of task "cached", which an agent does, is cached only if that is asked for: Write enabled = true
    ttl = "1h"
  }
}
task "sourceless" {
  agent {
    use    = agent.a
    prompt = "x"
  }
  cache { # ERROR: task "sourceless" has a cache block and no inputs
    enabled = true
  }
}
task "network" {
  agent {
    use      = agent.a
    prompt   = "x"
    fallback = [agent.a] # ERROR: there is no attribute "fallback" in agent
    budget {
      attempts = 1 # ERROR: there is no attribute "attempts" in budget
      tokens   = 0 # ERROR: tokens must be a whole number, 1 or more
    }
  }
}
task "pattern" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "*.txt" # ERROR: stdout_to contains a pattern
  }
}
task "outside" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "../a" # ERROR: stdout_to leaves the root
  }
}
task "folder" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "out/" # ERROR: stdout_to names a folder
  }
}
task "records" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = ".async/a" # ERROR: stdout_to is in .async
  }
}
task "git" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "sub/.git/config" # ERROR: stdout_to is a file of git's
  }
}
task "itself" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "./PIPELINE.hcl" # ERROR: stdout_to is PIPELINE.hcl, and such a file declares tasks: Write the name of a file
  }
}
task "included" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "services/api/PIPELINE.hcl" # ERROR: stdout_to is services/api/PIPELINE.hcl, and such a file declares tasks
  }
}
task "in_json" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "services/pipeline.hcl.json" # ERROR: stdout_to is services/pipeline.hcl.json, and such a file declares tasks
  }
}
task "one" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "same.txt" # ERROR: tasks "two" and "one" both make same.txt: Give each its own file
  }
}
task "two" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "./same.txt" # ERROR: tasks "one" and "two" both make same.txt
  }
}
task "gen" {
  run     = ["x"]
  outputs = ["gen/**"]
}
task "amid" {
  agent {
    use       = agent.a
    prompt    = "x"
    stdout_to = "gen/a.txt" # ERROR: tasks "gen" and "amid" both make gen/a.txt
  }
}
task "many" {
  for_each = ["a", "b"]
  agent {
    use       = agent.a
    prompt    = each.key
    stdout_to = "many.txt" # ERROR: both make many.txt
  }
}
task "secret" {
  agent {
    use    = agent.a
    prompt = secret("KEY") # ERROR: prompt may not be made from a secret
  }
}
task "checked" {
  run = ["x"]
  on_fail "agent" {
    use    = agent.a
    verify = [task.two] # ERROR: verify names "two", which an agent does: Name tasks that run a command
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
