task "self" {
  for_each   = ["a", "b"]
  depends_on = [task.self] # ERROR: tasks wait for each other: self → self: task.self is every instance of it, this one too.
  run        = ["x"]
}
task "key" {
  for_each   = ["a", "b"]
  depends_on = [task.key[each.key]] # ERROR: tasks wait for each other: key["a"] → key["a"]
  run        = ["x"]
}
task "left" {
  for_each   = ["a", "b", "c"]
  depends_on = [task.right[each.key]]
  run        = ["x"]
}
task "right" {
  matrix     = { x = ["a", "b", "c"] }
  depends_on = [task.left[matrix.x]] # ERROR: tasks wait for each other: left["a"] → right["a"] → left["a"]
  run        = ["x"]
}
