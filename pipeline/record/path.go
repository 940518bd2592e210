package record

// CriticalPath is the chain of tasks that decided how long a run took: from the one that ended last back over the dependency
// that ended last, in the order they ran. after gives what each task waits for. Tasks that were not started are in none.
func CriticalPath(tasks []Task, after func(name string) []string) []string { panic("door") }
