task "a" {
  run = ["true"]
}
task "b" {
  run       = ["true"]
  dependsOn = [task.a] # ERROR: Did you mean depends_on?
  onFail "agent" {     # ERROR: Did you mean on_fail?
    prompt = "fix it"
  }
}
