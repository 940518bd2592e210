task "a" {
  run    = ["true"]
  prompt = "fix it" # ERROR: It belongs in task → on_fail → agent.
}
concurrency = 2 # ERROR: It belongs in pipeline.
