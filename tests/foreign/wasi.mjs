// Runs a WebAssembly program: node wasi.mjs PROGRAM ARGUMENT...
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const wasi = new WASI({ version: 'preview1', args: process.argv.slice(2), returnOnExit: true });
const program = await WebAssembly.compile(readFileSync(process.argv[2]));
const instance = await WebAssembly.instantiate(program, wasi.getImportObject());
process.exit(wasi.start(instance));
