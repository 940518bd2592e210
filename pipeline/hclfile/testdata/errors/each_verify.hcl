agent "m" {
  command = ["x"]
}
task "build" {
  for_each = ["a", "b"]
  run      = ["x"]
  on_fail "agent" {
    use = agent.m
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
    verify = [task.all, task.lint, task.test[each.key]] # ERROR: verify names "all", which depends on "build[\"a\"]" # ERROR: verify names "test[\"a\"]", which
  }
}
task "lint" {
  run = ["x"]
}
task "test" {
  for_each   = ["a", "b"]
  depends_on = [task.build[each.key]]
  run        = ["x"]
}
task "all" {
  depends_on = [task.test]
  run        = ["x"]
}
