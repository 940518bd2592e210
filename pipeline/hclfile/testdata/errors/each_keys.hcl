task "a" {
  run = ["true"]
  matrix = {
    a = ["1"]
    a = ["2"] # ERROR: matrix has a twice: Take one of them out.
  }
}
task "b" {
  run      = ["echo", each.key]
  for_each = { k = 1, "k" = 2 } # ERROR: for_each has k twice
}
task "c" {
  run    = ["true"]
  inputs = ["x"]
  tools = {
    go = ["go", "version"]
    go = ["go", "env"] # ERROR: tools has go twice
  }
}
