agent "m" {
  command = ["x"]
}
task "test" {
  run = ["true"]
  on_fail "agent" {
    use    = agent.m
    verify = [task.vet, task.test, task.deploy] # ERROR: verify names "deploy", which depends on "test"
    budget {
      attempts   = 1
      wall_clock = "1m"
    }
  }
}
task "vet" {
  run = ["true"]
}
task "pack" {
  depends_on = [task.test]
  run        = ["true"]
}
task "deploy" {
  depends_on = [task.pack]
  run        = ["true"]
}
