package doctor

// What agents need before they can be asked: program, version, key or sign-in, and the way to the provider.

import (
	"cmp"
	"context"
	"errors"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/cli"
	"github.com/async-pipeline/async-pipeline/hooks/agent/configured"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/knowncli"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// Agents examines the agents that PIPELINE.hcl declares or, where it declares none, the agent CLIs that are installed.
// Their endpoints are asked whether they answer; no agent is asked for anything but its version.
func Agents(p *project.Project, path func(string) string) ([]view.Finding, error) {
	d := &checkup{Project: p, path: path}
	var err error
	if d.dir, err = d.Start(); err != nil {
		return nil, err
	}
	f := preflight{checkup: d, lacks: view.Trouble, reached: map[string]error{}}
	c := &pipeline.Config{Root: d.dir}
	if _, err := hclfile.Find(d.dir); err == nil {
		if c = d.pipelineFile(); c == nil {
			return d.found, nil
		}
	}
	if len(c.Agents) == 0 {
		f.lacks = view.Noted // nobody has asked for them
		for _, name := range knowncli.Names() {
			if d.FindProgram(c.Root, name) == nil {
				c.Agents = append(c.Agents, &pipeline.Agent{Name: name, CLI: &pipeline.CLIAgent{Name: name}})
			}
		}
		if len(c.Agents) == 0 {
			d.noted("agents", "install one of them, or declare an agent with a command or a model in PIPELINE.hcl",
				"no agent is declared, and none of %s is in PATH", english.List(knowncli.Names(), len(knowncli.Names())))
		}
	}
	all := d.Agents(c)
	for _, a := range c.Agents {
		f.agent(a, all[a.Name])
	}
	return d.found, nil
}

// A preflight examines agents.
type preflight struct {
	*checkup
	lacks   string           // the state of what an agent lacks
	reached map[string]error // address and route → why nothing answers there
}

// agent examines one agent.
func (f *preflight) agent(a *pipeline.Agent, in agent.Agent) {
	lead, n := a.Name+": ", len(f.found)
	known, ofCLI := in.(*cli.Known)
	if ofCLI {
		if install, err := known.Program(); err != nil {
			f.add("agents", f.lacks, install, "%s%s cannot be started: %v", lead, known.CLI, err)
		} else {
			f.version(known, lead)
		}
	}
	lacking := configured.MissingKey(a)
	for _, name := range lacking {
		f.add("agents", f.lacks, "export "+name+"=…, in the shell that starts async-pipeline", "%s%s is not set", lead, name)
	}
	switch {
	case len(lacking) > 0:
	case a.Model != nil:
		f.key(lead, &a.Model.Key)
		f.endpoint(lead, model.Endpoint(a.Model.Provider, a.Model.BaseURL, "", ""), model.ByProxyEnv)
	case !ofCLI:
	case a.CLI.Key != nil:
		f.key(lead, a.CLI.Key)
		f.endpoint(lead, model.Endpoint(a.CLI.Wire, a.CLI.BaseURL, "", ""), model.ByProxyEnv)
	default:
		f.signIn(lead, known)
	}
	ready := in.Ready()
	said := false
	for _, found := range f.found[n:] {
		said = said || found.State == f.lacks
	}
	switch {
	case ready != nil && !said:
		f.add("agents", f.lacks, "", "%v", ready)
	case ready == nil && len(f.found) == n:
		f.fine("agents", "%sits program is there", lead)
	}
}

// key reports the key of an agent, which is set, or is none.
func (f *preflight) key(lead string, key *pipeline.Text) {
	if key.Value == "" {
		f.fine("agents", "%sit sends no key", lead)
		return
	}
	f.fine("agents", "%sits key is set, by %s", lead, english.List(key.Secrets, len(key.Secrets)))
}

// signIn examines the sign-in of a CLI without a key.
func (f *preflight) signIn(lead string, k *cli.Known) {
	file, found := k.SignIn()
	switch {
	case found:
		f.fine("agents", "%sit is signed in, by %s", lead, file)
	case len(k.Given.Env)+len(k.Given.Files) > 0:
		f.noted("agents", "", "%sthere is no %s; what the agent is given may be its sign-in, and where that leads is not asked",
			lead, file)
		return
	default:
		f.add("agents", f.lacks, "start "+k.CLI+" and sign in, or set api_key in PIPELINE.hcl",
			"%sit is not signed in: there is no %s", lead, file)
		return
	}
	if at := k.Endpoint(); at != "" {
		f.endpoint(lead, at, model.Route(k.Given.Proxied()))
	}
}

// endpoint asks whether something answers at an address.
func (f *preflight) endpoint(lead, address string, route model.Route) {
	err, asked := f.reached[string(route)+" "+address]
	if !asked {
		err = model.Reach(context.Background(), address, route)
		f.reached[string(route)+" "+address] = err
	}
	if err == nil {
		f.fine("agents", "%s%s answers", lead, address)
		return
	}
	kind, why := failure.Unknown, err.Error()
	if e, ok := errors.AsType[*model.Error](err); ok {
		kind, why = e.Kind, e.Message
	}
	remedy := "check the network, and base_url"
	switch unused := route == model.Direct && cmp.Or(f.Env("HTTPS_PROXY"), f.Env("https_proxy")) != ""; {
	case unused:
		remedy += `; HTTPS_PROXY is set, and only pass_env = ["HTTPS_PROXY"] gives it to this agent`
	case kind == failure.AuthMissing:
		remedy = "write the user and the password into HTTPS_PROXY, http://USER:PASSWORD@HOST"
	case kind == failure.DNSNotFound || kind == failure.TLSError:
		remedy = kind.Advice(true)
	}
	f.add("agents", view.Trouble, remedy, "%s%s does not answer: %s", lead, address, why)
}
