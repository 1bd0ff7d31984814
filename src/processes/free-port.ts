/**
 * A port that is free now, for `--port 0`. The primary chooses it once, so that all workers, also later ones, listen on
 * the same: workers that each ask for "any" would only agree as long as one of them lives.
 */
import { createServer } from 'node:net'
import { Failure } from '../base/errors.ts'

export function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', thrown => {
      const reason = `cannot listen on ${host} (${(thrown as NodeJS.ErrnoException).code})`
      reject(new Failure('service_unavailable', { reason }, thrown))
    })
    probe.listen(0, host, () => {
      const address = probe.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}
