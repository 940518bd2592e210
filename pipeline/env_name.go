// The names that a pipeline may give to variables of the environment.
package pipeline

import "regexp"

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// EnvNameRule is the rule of IsEnvName in words.
const EnvNameRule = "A name consists of a-z, A-Z, 0-9, _ and ., and begins with a letter or _."

// IsEnvName reports whether env or a dotenv file may set a variable of this name. A shell can read only letters,
// digits and _; dots are allowed because programs such as Elasticsearch are configured by names with them. pass_env
// is not restricted by it.
func IsEnvName(name string) bool { return envName.MatchString(name) }
