/** Run by http-server.test.ts: two cluster workers listen on one port, the primary asks and stops them. */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { get } from 'node:http'
import { jsonReply } from '../../../../src/http/kit/reply.ts'
import { tinyServer } from './tiny-api.ts'

if (cluster.isPrimary) {
  const workers: Worker[] = [cluster.fork(), cluster.fork()]
  const listening = workers.map(worker => once(worker, 'message'))
  const ports = (await Promise.all(listening)).map(([port]) => Number(port))
  const request = get({ host: '127.0.0.1', port: ports[0], path: '/x', agent: false })
  const [response] = await once(request, 'response')
  response.resume()
  const exits = workers.map(worker => once(worker, 'exit'))
  for (const worker of workers) worker.send('stop')
  const exitCodes = (await Promise.all(exits)).map(([code]) => code)
  const portCount = new Set(ports).size
  console.log(JSON.stringify({ portCount, status: response.statusCode, exitCodes }))
} else {
  const { server } = tinyServer({ routes: { '/x': () => jsonReply(200, '1') } })
  const { port } = await server.listen(0, '127.0.0.1')
  process.send?.(port)
  await once(process, 'message')
  await server.drain(1000)
  process.disconnect()
}
