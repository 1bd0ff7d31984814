/** `npm run docs`: writes the files that are printed from tables in the code. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { generatedDocs } from './generated-docs.ts'

for (const [path, text] of Object.entries(generatedDocs())) {
  writeFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), text)
}
