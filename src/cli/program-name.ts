import { existsSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { npmScript } from '../config.ts'

const BIN = join(import.meta.dirname, '..', '..', 'bin')

/** The command that starts this program from the working directory; a checkout has no `latchkey` on the PATH. */
export function programName(cwd = process.cwd(), script = npmScript(), bin = BIN): string {
  if (script === 'start' || script === 'latchkey') return 'npm run -s latchkey --'
  if (process.platform === 'win32') return `node ${join(bin, 'latchkey.cjs')}`
  const file = join(bin, 'latchkey')
  if (!existsSync(file)) return 'latchkey' // an installed package, whose commands npm puts on the PATH
  const path = relative(cwd, file)
  if (path.startsWith(`..${sep}..`)) return file
  return path.includes(sep) ? path : `.${sep}${path}`
}
