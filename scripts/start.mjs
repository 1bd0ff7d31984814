// `npm start`: installs and builds when needed, then serves. Flags pass through: `npm start -- --port 0`.
import { prepare } from './prepare.mjs'

prepare('server')
const { main } = await import('../dist/main.js')
await main(['serve', ...process.argv.slice(2)])
