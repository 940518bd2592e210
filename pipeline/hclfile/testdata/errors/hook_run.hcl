task "a" {
  run = ["true"]
  on_fail "run" { # ERROR: on_fail "run" of task "a" has nothing to run
    timeout = "soon" # ERROR: timeout is not a time
  }
  on_fail "run" {
    run    = [] # ERROR: run is empty
    prompt = "" # ERROR: It belongs in task → on_fail → agent.
  }
}
