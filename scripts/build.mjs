// `npm run build`: dist/ from src/, only when a source changed.
import { build } from './prepare.mjs'

build()
