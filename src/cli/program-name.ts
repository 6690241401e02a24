import { join, relative, sep } from 'node:path'
import { npmScript } from '../config.ts'

const BIN = join(import.meta.dirname, '..', '..', 'bin')

/** How this program is started from where the person is; there is no `latchkey` on the PATH of a checkout. */
export function programName(cwd = process.cwd(), script = npmScript()): string {
  if (script === 'start' || script === 'latchkey') return 'npm run latchkey --'
  if (process.platform === 'win32') return `node ${join(BIN, 'latchkey.cjs')}`
  const file = join(BIN, 'latchkey')
  const path = relative(cwd, file)
  if (path.startsWith(`..${sep}..`)) return file
  return path.includes(sep) ? path : `.${sep}${path}`
}
