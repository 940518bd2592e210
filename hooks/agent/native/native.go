// Package native is our own agent: a conversation with a model, and tools that act on the copy. The calls of the
// model are carried out here, confined to the copy, and never twice. The package also recovers the conversation from
// failures of the network.
package native
