variable "short" {
  default = "ab"
  validation {
    condition     = length(var.short) > 2 # ERROR: var.short is refused: short must have three letters or more: It is the default.
    error_message = "short must have three letters or more"
  }
  validation {
    condition     = var.short != "abc"
    error_message = "this one holds"
  }
  validation {
    condition     = can(regex("^x", var.short)) # ERROR: var.short is refused: short must begin with x
    error_message = <<-EOT
      short must
      begin with x
    EOT
  }
}
variable "from" {
  validation {
    condition     = var.from == var.short # ERROR: It comes from ASYNC_PIPELINE_VAR_from.
    error_message = "they must be the same"
  }
}
variable "faulty" {
  default = "x"
  validation {
    condition     = local.one == "x" # ERROR: condition can name variables only
    error_message = "m"
  }
  validation {
    condition     = var.fualty == "x" # ERROR: Did you mean faulty?
    error_message = "m"
  }
  validation {
    condition     = length(var.faulty) # ERROR: condition must be true or false
    error_message = "m"
  }
  validation {
    condition     = tonumber(var.faulty) > 1 # ERROR: Invalid function argument
    error_message = "m"
  }
  validation {
    condition     = null # ERROR: condition must be true or false
    error_message = "m"
  }
  validation {
    condition     = secret("NOT_SET") == var.faulty # ERROR: a condition may not ask for secret()
    error_message = "m"
  }
  validation { # ERROR: a validation of variable "faulty" has no error_message
    condition = true
  }
  validation { # ERROR: a validation of variable "faulty" has no condition
    error_message = "m"
  }
  validation {
    condition     = true
    error_message = " " # ERROR: error_message is empty
  }
  validation {
    condition     = true
    error_message = path.root # ERROR: error_message can name variables only
  }
  validation {
    condition     = true
    error_message = secret("TOKEN") # ERROR: error_message may not be made from a secret
  }
}
variable "unsound" {
  type    = number
  default = "x" # ERROR: the default of variable "unsound" does not have its type
  validation {
    condition     = var.unsound > 1
    error_message = "what has no value is not looked at"
  }
}
locals {
  one = "x"
}
