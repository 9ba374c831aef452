// Package port holds what the engine needs of the world: its ports, one file each, with their
// types, errors and stored forms.
//
// An adapter implements ports, and imports this package and core/history alone. Package porttest
// holds the suite that each store passes. The engine's own side of the ports is core/engine;
// PROTOCOL.md there says why a method promises what it promises.
package port
