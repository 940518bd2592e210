locals {
  a = each.key  # ERROR: each may be used in a task with for_each only: It has another value in each instance
  b = matrix.os # ERROR: matrix may be used in a task with matrix only
}
variable "v" {
  default = each.value # ERROR: each may be used in a task with for_each only
}
agent "m" {
  command = ["x", matrix.os] # ERROR: matrix may be used in a task with matrix only
}
task "plain" {
  run = ["x", each.key]    # ERROR: each needs a for_each, which task "plain" does not have
  dir = "${matrix.os}"     # ERROR: matrix needs a matrix, which task "plain" does not have
  env = { A = each.value } # ERROR: each needs a for_each
}
task "each" {
  for_each = ["a", "b", "c", "d", "e"]
  run      = ["x", each.kye, each, matrix.os] # ERROR: there is no each.kye: Did you mean key? # ERROR: each alone is not a value: Write each.key or each.value. # ERROR: matrix needs a matrix, and task "each" has a for_each: Write each.key or each.value.
  timeout  = each.value                       # ERROR: timeout is not a time: Write a time such as "500ms", "30s", "5m" or "1h30m". It is so in each["a"].
  dir      = "sub/${nope}"                    # ERROR: nope is not a pipeline value
  inputs   = [eahc.key]                       # ERROR: eahc is not a pipeline value: Did you mean each?
  env      = { "A=${each.key}" = uper("x") }  # ERROR: Did you mean upper?
  retries  = 1                                # ERROR: there is no attribute "retries" in task
  on_fail "run" { # ERROR: on_fail "run" of task "each" has nothing to run
    timeout = "1s"
  }
}
task "some" {
  for_each = { a = "1m", b = 3, c = "5", d = "1s", e = "x", f = "y" }
  run      = ["x", upper(each.value)]
  timeout  = each.value             # ERROR: timeout has no unit: Write "3s" for seconds or "3m" for minutes. It is so in some["b"]. # ERROR: timeout is not a time
  inputs   = ["a", "${each.value}/"] # ERROR: inputs names a folder
  env      = { N = 1 + each.value } # ERROR: Invalid operand: Unsuitable value
}
task "matrix" {
  matrix = { os = ["a", "b"], cc = ["x"] }
  run    = ["x", matrix.so, each.value, matrix["os"], matrix.os.x] # ERROR: there is no matrix.so: Did you mean os? # ERROR: each needs a for_each, and task "matrix" has a matrix: Write matrix.AXIS. # ERROR: Unsupported attribute
  env    = { A = matrix }                                          # ERROR: matrix alone is not a value
  inputs = matrix.foo                                              # ERROR: There are matrix.os, matrix.cc.
}
