#!/usr/bin/env node
/**
 * The command line's entry, and the entry of every child process. It decides which part of the process tree this
 * process is, starts that part and ends with a one-line error when that cannot be done. Nothing else.
 */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isFailure } from './base/errors.ts'
import { readCommandLine, USAGE } from './command-line.ts'
import { runBackground } from './processes/background.ts'
import { runBuilds } from './processes/builds-server.ts'
import { runIndexer } from './processes/indexer.ts'
import { runMove } from './processes/move.ts'
import { runPrimary } from './processes/primary.ts'
import { runReplicator } from './processes/replicator.ts'
import { roleOfThisProcess } from './processes/roles.ts'
import { runWorker } from './processes/worker.ts'
import { VERSION } from './version.ts'

export async function main(argv: readonly string[]): Promise<void> {
  try {
    await runRole(argv)
  } catch (thrown) {
    process.stderr.write(`gurney: ${oneLine(thrown)}\n`)
    process.exit(1)
  }
}

async function runRole(argv: readonly string[]): Promise<void> {
  const role = roleOfThisProcess()
  if (role === 'worker') return runWorker()
  if (role === 'replicator') return runReplicator()
  if (role === 'indexer') return runIndexer()
  if (role === 'background') return runBackground()
  const command = readCommandLine(argv, process.env)
  if (command.name === 'help') process.stdout.write(USAGE)
  else if (command.name === 'version') process.stdout.write(`gurney ${VERSION}\n`)
  else if (command.name === 'move') await runMove(command.options)
  else if (command.name === 'builds') await runBuilds(command.options)
  else await runPrimary(command.options)
}

function oneLine(thrown: unknown): string {
  if (!isFailure(thrown)) return String((thrown as Error)?.stack ?? thrown)
  const { reason, subject } = thrown.detail
  if (typeof reason === 'string') return reason
  return subject === undefined ? thrown.message : `${thrown.message}: ${subject}`
}

/** True when this file is what Node was started with, whether by path or through a link in a bin folder. */
function isEntry(): boolean {
  const started = process.argv[1]
  if (started === undefined) return false
  return realpathSync(started) === fileURLToPath(import.meta.url)
}

if (isEntry()) await main(process.argv.slice(2))
