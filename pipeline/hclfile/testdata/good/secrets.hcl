# Where secrets may stand, those that are set and those that are not.
locals {
  auth   = "Basic ${base64encode("u:${secret("TOKEN")}")}"
  either = try(secret("NOT_SET"), "unused")
  unset  = secret("NOT_SET")
}
task "a" {
  run = "curl -H 'Authorization: ${local.auth}' https://example.com"
  env = {
    TOKEN   = secret("TOKEN")
    MIXED   = "x-${secret("TOKEN")}-${secret("PIN")}"
    PARSED  = jsondecode(secret("JSON")).user
    UPPER   = upper(secret("TOKEN"))
    LENGTH  = length(secret("TOKEN"))
    CHOICE  = secret("TOKEN") != "" ? "with the token" : "without it"
    EMPTY   = secret("EMPTY")
    UNSET   = local.unset
    TRIED   = try(local.unset, "unused")
    EITHER  = local.either
    NUMBER  = tonumber(local.unset) + 1
    BOTH    = "${secret("TOKEN")}${secret("ALSO_NOT")}${secret("NOT_SET")}"
    UNTAKEN = true ? "plain" : secret("NOT_SET")
  }
}
task "b" {
  run = ["curl", "-u", "u:${secret("TOKEN")}", secret("NOT_SET")]
}
task "c" {
  run = split(" ", secret("NOT_SET"))
}
task "d" {
  run = secret("NOT_SET")
}
