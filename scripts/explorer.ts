// Fetches the explorer of /docs, RapiDoc (MIT), from the package registry and writes it compressed to assets/explorer/. For a
// new version: change version and digest in src/admin/openapi/explorer.ts and run this. It is no development dependency,
// because that would install 60 packages that are already in the one file.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { EXPLORER_FILE, EXPLORER_SHA256, EXPLORER_VERSION } from '../src/admin/openapi/explorer.ts'

const folder = mkdtempSync(join(tmpdir(), 'explorer-'))
try {
  const [archive = ''] = execFileSync('npm', ['pack', '--silent', `rapidoc@${EXPLORER_VERSION}`], { cwd: folder })
    .toString()
    .trim()
    .split('\n')
    .slice(-1)
  execFileSync('tar', ['-xzf', archive], { cwd: folder })
  const script = readFileSync(join(folder, 'package/dist/rapidoc-min.js'))
  const found = createHash('sha256').update(script).digest('hex')
  if (found !== EXPLORER_SHA256) throw new Error(`the file has another digest: ${found}`)
  writeFileSync(EXPLORER_FILE, gzipSync(script, { level: 9 }))
  const licences = ['package/LICENSE.txt', 'package/dist/rapidoc-min.js.LICENSE.txt'].map(path =>
    readFileSync(join(folder, path), 'utf8'),
  )
  writeFileSync(join(EXPLORER_FILE, '../LICENSE.txt'), licences.join('\nIt contains:\n\n'))
} finally {
  rmSync(folder, { recursive: true })
}
