task "up" {
  run    = ["./up.sh"]
  inputs = ["*.sql"]
}
task "down" {
  for_each   = ["a", "b"]
  depends_on = [task.up]
  run        = ["./down.sh", each.key]
}
