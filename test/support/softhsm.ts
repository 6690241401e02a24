// A SoftHSM token in a temporary folder, with keys known to the test.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MODULE = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/usr/local/lib/softhsm/libsofthsm2.so',
]

/** The library; undefined where SoftHSM is not installed. */
export const softhsmModule: string | undefined = MODULE.find(path => existsSync(path))

/** Why tests with a token are skipped; false where they run. */
export const withoutSofthsm: string | false = softhsmModule === undefined && 'SoftHSM (softhsm2) is not installed'

/** A token with the label `latchkey`. */
export interface TestToken {
  readonly module: string
  readonly token: string
  readonly pin: string
  /** Puts a key of PKCS#8 PEM into it. */
  add(label: string, pem: string, id: string): void
  /** Simulates unplugging the token, or plugging it in again. */
  unplug(): void
  plug(): void
}

/** Makes the token; processes that are started later find it by the environment. */
export function makeToken(folder: string): TestToken {
  const pin = '1234'
  const file = join(folder, 'softhsm2.conf')
  mkdirSync(join(folder, 'tokens'))
  writeFileSync(
    file,
    `directories.tokendir = ${join(folder, 'tokens')}\nobjectstore.backend = file\nlog.level = ERROR\n`,
  )
  process.env['SOFTHSM2_CONF'] = file
  const run = (...args: readonly string[]): void => void execFileSync('softhsm2-util', args, { stdio: 'pipe' })
  run('--init-token', '--free', '--label', 'latchkey', '--pin', pin, '--so-pin', '5678')
  return {
    module: softhsmModule ?? '',
    token: 'latchkey',
    pin,
    add(label, pem, id) {
      const path = join(folder, `${label}.pem`)
      writeFileSync(path, pem)
      run('--import', path, '--token', 'latchkey', '--label', label, '--id', id, '--pin', pin)
    },
    unplug: () => renameSync(join(folder, 'tokens'), join(folder, 'away')),
    plug: () => renameSync(join(folder, 'away'), join(folder, 'tokens')),
  }
}

/** The processes of sessions that this process has started. */
export function sessionProcesses(): readonly number[] {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ')
  return children.filter(pid => pid !== '' && commandOf(pid).includes('pkcs11-worker')).map(Number)
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return '' // it has just ended
  }
}
