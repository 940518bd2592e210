agent "a" {
  command = ["./a"]
}
task "plain" {
  run = ["x"]
  ready { # ERROR: ready belongs to a service: Write service = true
    port = 1
  }
}
task "off" {
  run     = ["x"]
  service = false
  ready { # ERROR: ready belongs to a service
    port = 1
  }
}
task "text" {
  run     = ["x"]
  service = "yes" # ERROR: service must be true or false
}
task "much" {
  run     = ["x"]
  inputs  = ["*"]
  service = true
  outputs = ["bin"] # ERROR: a service has no outputs: Let a task that it depends on make
  timeout = "1m"    # ERROR: a service has no timeout
  retry {           # ERROR: a service has no retry
    attempts = 2
  }
  cache { # ERROR: a service has no cache
    ttl = "1h"
  }
  on_fail "agent" { # ERROR: a service has no on_fail "agent": A fix is judged by how a task ends
    use = agent.a
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
task "when" {
  run     = ["x"]
  service = true
  ready { # ERROR: ready does not say when: Write one of command, port and log
    timeout = "1m"
  }
}
task "twice" {
  run     = ["x"]
  service = true
  ready {
    port = 1
    log  = "x" # ERROR: ready says twice when
  }
}
task "values" {
  run     = ["x"]
  service = true
  ready {
    port = 70000 # ERROR: port must be
  }
}
task "pattern" {
  run     = ["x"]
  service = true
  ready {
    log     = "(" # ERROR: log is not a regular expression
    timeout = "0s" # ERROR: timeout
  }
}
task "empty" {
  run     = ["x"]
  service = true
  ready {
    log = "" # ERROR: log is empty
  }
}
task "ready" {
  run     = ["x"]
  service = true
  ready {
    command = "" # ERROR: command is empty: Write command = ["program", "argument"] or command = "shell text"
  }
}
