package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
)

// cacheCommand has the verbs for the cache of results.
func cacheCommand(prog *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "Look after the stored results of tasks",
		Long: `The results of tasks with inputs are in .async/cache, or where
ASYNC_PIPELINE_CACHE_DIR says. gc removes old ones.`,
		Example: `  async-pipeline cache verify`,
	}
	group(prog, c)
	c.AddCommand(cacheVerifyCommand(prog))
	return c
}

func cacheVerifyCommand(prog *program) *cobra.Command {
	var remove bool
	var at cacheFlags
	c := &cobra.Command{
		Use:   "verify",
		Short: "Compare every stored result with its digest",
		Long: `Reads all that is stored of tasks and compares it with its digest. What is
damaged is listed, with results that lack something; it is never used, since
every run compares what it reads: the task runs again. With --remove it is
removed, so that its space is free.

The exit code is 0 if all is whole, and 1 if something is damaged, also if it
was removed.`,
		Example: `  async-pipeline cache verify
  async-pipeline cache verify --remove`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error { return verifyCache(prog, &at, remove) },
	}
	c.Flags().BoolVar(&remove, "remove", false, "remove what is damaged")
	at.dirFlag(c, "look in")
	return c
}

func verifyCache(prog *program, at *cacheFlags, remove bool) error {
	if remove {
		if err := notInHook(prog, "what is stored here belongs to who started it"); err != nil {
			return err
		}
	}
	root, err := prog.Root()
	if err != nil {
		return err
	}
	dir, err := at.folder(prog, root)
	if err != nil {
		return err
	}
	if at.dirTyped() && !store.IsThere(dir) {
		return exit.Misused("there is no cache in %s: correct --cache-dir", prog.Messages().Path(dir))
	}
	found, err := store.Verify(context.Background(), dir, remove)
	if err != nil {
		return err
	}
	typed := []string{"cache", "verify", "--remove"}
	if at.dirTyped() {
		typed = append(typed, "--cache-dir", at.dir)
	}
	prog.Results().CacheVerified(dir, found, prog.Typed(typed...))
	if len(found.Damaged) > 0 {
		return exit.With(exit.Failed)
	}
	return nil
}
