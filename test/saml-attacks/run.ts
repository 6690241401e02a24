// Sends the collection to a server given on the command line and prints a table. See README.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import type { Endpoint, Forged, Means, SamlAttack, SamlMessage } from './attack.ts'
import { CLASSES } from './classes.ts'
import type { Target } from './means.ts'
import { classesFor, createMeans, encodedFor } from './means.ts'

const USAGE = `usage:
  node test/saml-attacks/run.ts --metadata [idp|rival] [--keys FILE]
  node test/saml-attacks/run.ts --entity-id ID --acs URL [--encrypt-to CERTIFICATE.pem] [--class NAME]
  node test/saml-attacks/run.ts --entity-id ID --bearer URL --client ID:SECRET [--class NAME]
  node test/saml-attacks/run.ts --list`

const { values: options } = parseArgs({
  options: {
    metadata: { type: 'string' },
    keys: { type: 'string', default: 'saml-attacks-keys.json' },
    idp: { type: 'string', default: 'https://idp.example/saml' },
    rival: { type: 'string', default: 'https://rival.example/saml' },
    'entity-id': { type: 'string' },
    acs: { type: 'string' },
    bearer: { type: 'string' },
    client: { type: 'string', default: '' },
    'encrypt-to': { type: 'string' },
    class: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
})

const entityIds = { idp: options.idp, rival: options.rival }

/** The keys of both providers from the file, which is created if missing. */
function keysOf(file: string): Target['keys'] {
  if (!existsSync(file)) {
    const made: Target['keys'] = { idp: samlTestKey(), rival: samlTestKey() }
    writeFileSync(file, JSON.stringify(made), { mode: 0o600 })
  }
  return JSON.parse(readFileSync(file, 'utf8')) as Target['keys'] // written by the line above
}

/** The parts of a response that distinguish sign-ins from refusals. */
interface Reaction {
  readonly text: string
  readonly status: number
  readonly milliseconds: number
}

async function post(target: Target, message: Forged): Promise<Reaction> {
  const text = encodedFor(target.endpoint, message)
  const isGrant = target.endpoint === 'bearer'
  const form = isGrant
    ? { grant_type: 'urn:ietf:params:oauth:grant-type:saml2-bearer', assertion: text }
    : { SAMLResponse: text }
  const begun = performance.now()
  const response = await fetch(target.to.recipient, {
    method: 'POST',
    redirect: 'manual',
    headers: isGrant ? { authorization: `Basic ${btoa(options.client)}` } : {},
    body: new URLSearchParams(form),
  })
  const body = await response.text()
  const cookies = response.headers.getSetCookie().map(cookie => cookie.split('=', 1)[0])
  const place = (response.headers.get('location') ?? '').replace(/[?#].*/, '')
  const token = isGrant && /"access_token"/.test(body) ? 'token' : ''
  return {
    text: [response.status, place, ...new Set(cookies), token].join(' ').trim(),
    status: response.status,
    milliseconds: performance.now() - begun,
  }
}

/** A row of the table. */
interface Row {
  readonly class: string
  readonly message: string
  readonly source: string
  readonly result: string
}

async function attack(target: Target): Promise<readonly Row[]> {
  const make = createMeans(target)
  const sent = async (message: SamlMessage, means: Means = make()): Promise<Reaction> =>
    post(target, await message.forge(means))
  const genuine: SamlMessage = { name: '', forge: means => classGenuine(means) }
  const taken = await sent(genuine)
  const refused = await sent({ name: '', forge: means => means.idp.assertion(means.parts) })
  if (taken.text === refused.text) {
    throw new Error(`the server answers a genuine message like an unsigned one: ${taken.text}`)
  }
  const rows: Row[] = []
  const chosen = classesFor(target).filter(({ name }) => (options.class ?? name) === name)
  for (const { name, sources, controls, attacks } of chosen) {
    const row = (message: string, result: string, source = sources[0] ?? ''): void =>
      void rows.push({ class: name, message, source, result })
    for (const control of controls) {
      const { text } = await sent(control)
      row(`genuine: ${control.name}`, text === taken.text ? 'taken' : `REFUSED (${text})`)
    }
    for (const each of attacks) row(each.name, await resultOf(each), each.source)
  }
  return rows

  async function resultOf(each: SamlAttack): Promise<string> {
    const means = make()
    if (each.isReplay) await sent(each, means)
    const { text, status, milliseconds } = await sent(each, means)
    const slow = milliseconds > 1000 ? `, after ${Math.round(milliseconds)} ms` : ''
    if (text === taken.text) return each.means === undefined ? 'TAKEN' : `taken: must mean ${each.means}`
    return `${status >= 500 && status !== refused.status ? `ERROR ${status}` : 'refused'}${slow}`
  }
}

const classGenuine = ({ endpoint, idp, parts }: Means): string => {
  const signed = idp.signedAssertion(parts)
  return endpoint === 'acs' ? idp.responseAround(signed, { ...parts, signs: [] }) : signed
}

if (options.list) {
  for (const { name, attacks, sources } of CLASSES)
    console.log(`| ${name} | ${attacks.length} | ${sources.join('; ')} |`)
} else if (options.metadata !== undefined) {
  const name = options.metadata === 'rival' ? 'rival' : 'idp'
  const to = { entityId: '', recipient: '' }
  const key = keysOf(options.keys)[name]
  console.log(createSamlIdp({ clock: systemClock, to, key, entityId: entityIds[name] }).metadata())
} else {
  const { acs, bearer, 'entity-id': entityId } = options
  const recipient = acs ?? bearer
  if (recipient === undefined || entityId === undefined) throw new Error(USAGE)
  const endpoint: Endpoint = acs === undefined ? 'bearer' : 'acs'
  const certificate = options['encrypt-to']
  const rows = await attack({
    endpoint,
    to: { entityId, recipient },
    clock: systemClock,
    keys: keysOf(options.keys),
    entityIds,
    encryptTo: certificate === undefined ? undefined : readFileSync(certificate, 'utf8'),
  })
  for (const each of rows) console.log(`| ${each.class} | ${each.message} | ${each.source} | ${each.result} |`)
  const bad = rows.filter(({ result }) => !/^(?:refused|taken)/.test(result))
  console.log(`${rows.length} messages, ${bad.length} of them not as they must be`)
  process.exitCode = bad.length > 0 ? 1 : 0
}
