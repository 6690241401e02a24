// The limits of the machine, with which the measured rates are compared.
import { hash } from '@node-rs/argon2'
import { generateKeyPairSync, sign } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Processes } from './processes.ts'

/** Operations per second. The signature rates are those of one core, the password hashes those of all cores together. */
export interface Limits {
  /** `openssl speed` of the system's OpenSSL; undefined when it is not installed. */
  readonly opensslRsa2048: number | undefined
  readonly opensslEcdsaP256: number | undefined
  /** The same, verifying. */
  readonly opensslEcdsaP256Verify: number | undefined
  /** A loop of synchronous `crypto.sign`: Node has its own OpenSSL. */
  readonly nodeRsa2048: number
  readonly nodeEcdsaP256: number
  /** argon2id of 19 MiB and two passes, as many at a time as there are cores. */
  readonly argon2id: number
}

/** The cores shared by servers and load tool. */
export const CORES = availableParallelism()

/** Measures every limit once, `seconds` each. */
export async function measureLimits(processes: Processes, seconds: number): Promise<Limits> {
  const p256 = await opensslSpeed(processes, 'ecdsap256', seconds)
  return {
    opensslRsa2048: parseRate(await opensslSpeed(processes, 'rsa2048', seconds), 'sign/s'),
    opensslEcdsaP256: parseRate(p256, 'sign/s'),
    opensslEcdsaP256Verify: parseRate(p256, 'verify/s'),
    nodeRsa2048: signRate(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, seconds),
    nodeEcdsaP256: signRate(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, seconds),
    argon2id: await passwordRate(seconds),
  }
}

async function opensslSpeed(processes: Processes, name: string, seconds: number): Promise<string> {
  try {
    return (await processes.run(['openssl', 'speed', '-seconds', String(seconds), name])).stdout
  } catch {
    return '' // no openssl, or one too old for -seconds
  }
}

/**
 * Reads a column of `openssl speed`, which prints a line of column names, then a label and the values: times with a
 * trailing `s`, rates without. Newer versions have more columns.
 */
export function parseRate(output: string, column: 'sign/s' | 'verify/s'): number | undefined {
  const lines = output.trimEnd().split('\n')
  const rates = lines
    .at(-2)
    ?.trim()
    .split(/\s+/)
    .filter(name => name.endsWith('/s'))
  const values = lines.at(-1)?.trim().split(/\s+/) ?? []
  if (!rates?.includes(column)) return undefined
  const rate = Number(values.slice(-rates.length)[rates.indexOf(column)])
  return Number.isFinite(rate) ? rate : undefined
}

function signRate(key: Parameters<typeof sign>[2], seconds: number): number {
  const message = Buffer.alloc(700, 'x') // about the length of a JWT before its signature
  const start = performance.now()
  let signatures = 0
  let elapsed = 0
  while (elapsed < seconds) {
    for (let i = 0; i < 50; i += 1) sign('sha256', message, key)
    signatures += 50
    elapsed = (performance.now() - start) / 1000
  }
  return signatures / elapsed
}

async function passwordRate(seconds: number): Promise<number> {
  const start = performance.now()
  const elapsed = (): number => (performance.now() - start) / 1000
  let hashes = 0
  const lane = async (): Promise<void> => {
    while (elapsed() < seconds) {
      await hash('koala', { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 })
      hashes += 1
    }
  }
  await Promise.all(Array.from({ length: CORES }, lane))
  return hashes / elapsed()
}
