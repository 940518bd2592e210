task "a" {
  run = ["echo", matrix.os]
  matrix { # ERROR: matrix is an attribute
    os = ["linux"]
  }
}
task "b" {
  run = ["echo", each.key]
  for_each { # ERROR: for_each is an attribute
    linux = "x"
  }
}
task "c" {
  run        = ["true"]
  depends_on = [task.a, task.b]
}
