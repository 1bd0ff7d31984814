/**
 * Loaded into every child process before anything else: one whose primary is gone leaves at once, without a word.
 *
 * Node itself writes to the pipe between them before the first module of ours runs, and a pipe that nobody reads any more
 * would be an error nobody hears, told with a stack. So this cannot be a module like the others: those come too late.
 *
 * Nor may it end as processes do: Node waits for its threads then, and one of those may be in the middle of a write and
 * wait for us, for ever. Killed, it lets go of everything; whatever it has acknowledged is on disk.
 */
const GONE: readonly unknown[] = ['EPIPE', 'ECONNRESET', 'ERR_IPC_CHANNEL_CLOSED']

const primaryPid = process.ppid

function leave(): void {
  // Who left the tree by himself has nothing open, and a primary that wants to know how he ended.
  const isAlone = process.ppid !== primaryPid
  // Last of all that is done at the end: the log is written by then.
  if (isAlone) process.on('exit', () => process.kill(process.pid, 'SIGKILL'))
  process.exit(0)
}

// Before the listeners of node:cluster: one throws what it hears, the other ends the process.
const events: NodeJS.EventEmitter = process
events.prependListener('disconnect', leave)
events.prependListener('error', (error: NodeJS.ErrnoException) => {
  if (GONE.includes(error.code)) leave()
})
