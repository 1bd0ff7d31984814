// The yardstick's own program (see bare-server.ts): `node bare-server.mjs WORKERS BODY` prints its port.
import cluster from 'node:cluster'
import { createServer } from 'node:http'

const [, , workerCount, text] = process.argv
if (cluster.isPrimary) {
  cluster.schedulingPolicy = cluster.SCHED_NONE
  let ready = 0
  cluster.on('listening', (_, { port }) => {
    if (++ready === Number(workerCount)) console.log(port)
  })
  for (let n = 0; n < Number(workerCount); n++) cluster.fork()
  process.on('SIGTERM', () => process.exit())
} else {
  const body = Buffer.from(text)
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(body.length)]
  createServer((_, response) => {
    response.writeHead(200, headers)
    response.end(body)
  }).listen(0, '127.0.0.1')
}
