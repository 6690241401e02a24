// The actions of `latchkey keys`. A running server receives each change like any other.
import { addSeconds } from '../../base/clock.ts'
import { reasonOf } from '../../base/files/file-error.ts'
import { readSmallFile } from '../../base/files/small-file.ts'
import { refuseForeignDatabase } from '../../bootstrap.ts'
import type { Config, StorageConfig } from '../../config.ts'
import { behaviourOf } from '../../model/compatibility.ts'
import { serviceNamed } from '../../model/service.ts'
import type { KeyMaterial } from '../../model/tokens/key-material.ts'
import { readKeyMaterial } from '../../model/tokens/key-material.ts'
import type { SigningAlgorithm, SigningKeyRecord } from '../../model/tokens/signing-key.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { AlreadyExists } from '../../store/store.ts'
import { generateKey } from '../../token/keys/key-generation.ts'
import { sealedKey } from '../../token/keys/zone-key.ts'
import { maxTokenSeconds } from '../../token/lifetimes.ts'
import { CommandFailure } from '../command.ts'
import type { KeyAction } from './keys.ts'
import { recordOperatorEvent } from '../operator-events.ts'
import type { OperatorEvent } from '../operator-events.ts'
import type { Storage } from '../database/storage.ts'
import { openStorageBeside } from '../database/storage.ts'
import { unsignedClients } from './unsigned-clients.ts'

/** Other processes may sign with the old key until they receive the change. */
const PROPAGATION_SECONDS = 60

/** More than a private key with its certificates has. */
const MAX_PEM_BYTES = 1024 * 1024

type KeyConfig = StorageConfig & Pick<Config, 'compatibility' | 'audit'>

/** Runs the action and returns the lines to print, which contain no secrets. */
export async function runKeyAction(config: KeyConfig, zoneId: string | undefined, action: KeyAction): Promise<string> {
  const storage = await openStorageBeside(config)
  try {
    await refuseForeignDatabase({ ...storage, config })
    const zone = await storage.store.zones.find(zoneId ?? config.service)
    if (zone === undefined) {
      throw new CommandFailure(
        zoneId === undefined ? 'the database is empty: start the server first' : `there is no zone ${zoneId}`,
      )
    }
    const output = await act(zone, action, { ...storage, config })
    return `${output}${table(await storage.store.keys.list(zone.id), storage.clock.now())}`
  } finally {
    await storage.store.close()
  }
}

type Deps = Storage & { readonly config: KeyConfig }

const record = (event: Omit<OperatorEvent, 'type'>, type: OperatorEvent['type'], deps: Deps): Promise<void> =>
  recordOperatorEvent({ ...event, type }, 'latchkey keys', deps)

async function act(zone: Zone, action: KeyAction, deps: Deps): Promise<string> {
  switch (action.action) {
    case 'list':
      return ''
    case 'add':
      return add(zone, action, deps)
    case 'activate':
      return activate(zone, action.keyId, deps)
    case 'retire':
      return retire(zone, action, deps)
  }
}

type ActionOf<A extends KeyAction['action']> = Extract<KeyAction, { action: A }>

async function add({ id: zoneId }: Zone, action: ActionOf<'add'>, deps: Deps): Promise<string> {
  const { store, vault, clock, random } = deps
  const { keyId = random.hex(8), algorithm = 'RS256', pemFile } = action
  const material = pemFile === undefined ? await generateKey(algorithm, random) : readPemFile(pemFile, action.algorithm)
  try {
    await store.keys.insert(
      zoneId,
      sealedKey({ zoneId, keyId, active: false, createdAt: clock.now() }, material, vault),
    )
  } catch (cause) {
    if (cause instanceof AlreadyExists) throw new CommandFailure(`zone ${zoneId} has a key ${keyId} already`, { cause })
    throw cause
  }
  await record({ zoneId, principal: keyId, data: material.algorithm }, 'SigningKeyCreatedEvent', deps)
  return `Added ${keyId}; it does not sign yet.\n${whoSees(material.algorithm, deps)}`
}

/** In `uaa` only RSA keys are published to everyone (row M6), so that with another key relying parties reject every token. */
function whoSees(algorithm: SigningAlgorithm, { config }: Deps): string {
  if (behaviourOf(config.compatibility).allPublicKeys || /^[RP]S/.test(algorithm)) return ''
  const authority = serviceNamed(config.service).scope('resource')
  return `With compatibility: uaa, /token_keys shows this ${algorithm} key only to clients with the authority ${authority}; others cannot verify its tokens.\n`
}

function readPemFile(path: string, algorithm: string | undefined): KeyMaterial {
  const text = readPem(path)
  if (!text.includes('-----BEGIN')) throw new CommandFailure(`${path}: is not a private key in PEM`)
  const read = readKeyMaterial({ text, algorithm })
  if ('problem' in read) throw new CommandFailure(`${path}: ${read.problem}`)
  if (read.publicKey === undefined) throw new CommandFailure(`${path}: is not an unencrypted private key in PEM`)
  return read
}

function readPem(path: string): string {
  try {
    return readSmallFile(path, MAX_PEM_BYTES)
  } catch (cause) {
    throw new CommandFailure(`--pem-file ${path} cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

async function activate({ id: zoneId }: Zone, keyId: string, deps: Deps): Promise<string> {
  if (!(await deps.store.keys.activate(zoneId, keyId, deps.clock.now()))) {
    throw new CommandFailure(`zone ${zoneId} has no key ${keyId} that could sign`)
  }
  await record({ zoneId, principal: keyId }, 'SigningKeyActivatedEvent', deps)
  const key = (await deps.store.keys.list(zoneId)).find(each => each.keyId === keyId)
  return `${keyId} signs from now on.\n${key ? whoSees(key.algorithm, deps) : ''}`
}

async function retire(zone: Zone, { keyId, now: atOnce }: ActionOf<'retire'>, deps: Deps): Promise<string> {
  const { store, clock, config } = deps
  const now = clock.now()
  const seconds = maxTokenSeconds(zone, await store.clients.lifetimes(zone.id), behaviourOf(config.compatibility))
  const expiresAt = atOnce ? now : addSeconds(now, seconds + PROPAGATION_SECONDS)
  const key = (await store.keys.list(zone.id)).find(each => each.keyId === keyId)
  if (key && (await store.keys.retire(zone.id, keyId, expiresAt))) {
    const data = `verifies until ${stamp(expiresAt)}`
    await record({ zoneId: zone.id, principal: keyId, data }, 'SigningKeyRetiredEvent', deps)
    const done = atOnce
      ? `${keyId} is expired: tokens that it signed are refused from now on.\n`
      : `${keyId} is retired; it verifies until the last token that it may have signed has expired.\n`
    return `${done}${await unsignedClients(zone.id, key.algorithm, store)}`
  }
  throw new CommandFailure(
    key ? `${keyId} is the key that signs: activate another one first` : `zone ${zone.id} has no key ${keyId}`,
  )
}

function table(keys: readonly SigningKeyRecord[], now: Date): string {
  const rows = keys.map(key => [
    key.keyId.replace(/[^\x20-\x7e]/g, '?'), // key ids of the zone API are not restricted
    key.algorithm,
    stateOf(key, now),
    stamp(key.createdAt),
    key.expiresAt === undefined ? '-' : stamp(key.expiresAt),
  ])
  const lines = [['KEY', 'ALGORITHM', 'STATE', 'CREATED', 'UNTIL'], ...rows]
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map(cells => cells[column]?.length ?? 0))) ?? []
  return lines
    .map(
      cells =>
        `${cells
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

function stateOf({ active, expiresAt }: SigningKeyRecord, now: Date): string {
  if (active) return 'active'
  if (expiresAt === undefined) return 'standby'
  return expiresAt > now ? 'retired' : 'expired'
}

const stamp = (moment: Date): string => `${moment.toISOString().slice(0, 19)}Z`
