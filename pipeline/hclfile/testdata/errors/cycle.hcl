task "a" {
  depends_on = [task.b]
  run        = ["true"]
}
task "b" {
  depends_on = [task.c]
  run        = ["true"]
}
task "c" {
  depends_on = [task.a] # ERROR: tasks wait for each other: a → b → c → a
  run        = ["true"]
}
task "self" {
  depends_on = [task.self] # ERROR: self → self
  run        = ["true"]
}
task "after" {
  depends_on = [task.a]
  run        = ["true"]
}
