locals {
  big = range(1001)
}
task "both" {
  for_each = ["a"]
  matrix   = { os = ["a"] } # ERROR: task "both" has both for_each and matrix
  run      = ["x", each.key, matrix.os]
}
task "text" {
  for_each = "a" # ERROR: for_each must be a set or a map: It is text. Write for_each = ["a", "b"]
  run      = ["x", each.key]
  dir      = "/" # ERROR: dir is an absolute path
}
task "null" {
  for_each = null # ERROR: for_each is null
  run      = ["x"]
}
task "secret" {
  for_each = [secret("TOKEN")] # ERROR: for_each may not be made from a secret
  run      = ["x"]
}
task "unset" {
  for_each = { a = secret("NOT_SET") } # ERROR: for_each may not be made from a secret
  run      = ["x"]
}
task "twice" {
  for_each = ["a", "b", "a", 1, "1"] # ERROR: for_each has "a" twice: A list counts as a set # ERROR: for_each has "1" twice
  run      = ["x"]
}
task "elements" {
  for_each = [
    "",       # ERROR: for_each contains a text that is empty
    "a\nb",   # ERROR: has control characters
    null,     # ERROR: for_each contains null
    ["a"],    # ERROR: for_each contains what is not text: It is a list.
    { a = 1}, # ERROR: It is a map.
  ]
  run = ["x"]
}
task "key" {
  for_each = { "" = 1 } # ERROR: for_each contains a text that is empty
  run      = ["x"]
}
task "many" {
  for_each = local.big # ERROR: task "many" has more than 1000 instances
  run      = ["x"]
}
task "own" {
  for_each = [each.key, matrix.os, local.nope] # ERROR: each cannot be used in for_each or matrix # ERROR: matrix cannot be used in for_each # ERROR: there is no local "nope"
  run      = ["x"]
}
