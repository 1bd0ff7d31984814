/** The processes of a running server by the part they play. One that ends while we look is not there. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export type ChildRole = 'worker' | 'indexer' | 'replicator' | 'background'

export function childrenOf(primaryPid: number | undefined, role: ChildRole): number[] {
  const list = execFileSync('ps', ['-o', 'pid=', '--ppid', String(primaryPid)], {
    encoding: 'utf8',
  })
  const pids = list.split('\n').map(Number)
  return pids.filter(pid => pid > 0 && environmentOf(pid).includes(`GURNEY_PROCESS_ROLE=${role}`))
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw thrown
  }
}
