// `POST /identity-providers/test`: verifies a name and password with a directory. Uses only the record in the request:
// with a stored bind password, the caller could have it sent to any address.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isJsonRecord } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { OutboundBusy } from '../../base/outbound/error.ts'
import { TooManyHashes } from '../../base/passwords.ts'
import type { DirectoryAttempt, DirectoryResult } from '../../identity/directory/directory.ts'
import { readDirectorySettings, UnusableDirectory } from '../../providers/directory-settings.ts'
import { echoOf } from '../../providers/provider-json.ts'
import type { On } from '../../web/deferred-routes.ts'
import { MalformedInput } from '../../web/requests/form.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { requesterOf } from '../../web/requests/requester.ts'
import { readProvider } from './changes.ts'
import { flagOf } from './flags.ts'
import { refuseWith, repeating } from './refusal.ts'
import type { ProviderRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

/** All that a test of a directory uses. */
type ProviderTestDeps = Pick<AdminDeps, 'service' | 'behaviour' | 'directories'> & {
  readonly log: Pick<AdminDeps['log'], 'refusal' | 'fault'>
}

/** An internal error, which is in the log. */
interface Fault {
  readonly outcome: 'fault'
}

/** Messages for an unreachable directory; they reveal as little as possible about the server's network. */
const TEXTS = {
  untrusted: 'The certificate of the directory is not trusted.',
  'no-answer': 'The directory cannot be reached, or its response cannot be parsed.',
} as const

/** `POST /identity-providers/test` (§7). */
export function providerTestHandler(on: On<ProviderRoute>, deps: ProviderTestDeps): void {
  const { service, behaviour, log, directories } = deps

  async function ask(provider: JsonRecord, attempt: DirectoryAttempt): Promise<DirectoryResult | Fault> {
    const { config: settings } = readProvider(provider, { serviceName: service.name, behaviour })
    try {
      return await directories.authenticate(readDirectorySettings(settings, behaviour.directoryPlaces), attempt)
    } catch (cause) {
      if (cause instanceof UnusableDirectory) return { outcome: 'misconfigured', reason: cause.message }
      if (cause instanceof OutboundBusy) throw refuseWith(503, 'Too many connections are open. Try again.')
      if (cause instanceof TooManyHashes) throw cause
      log.fault('POST /identity-providers/test', cause)
      return { outcome: 'fault' }
    }
  }

  const sentRecord = (request: FastifyRequest): JsonRecord =>
    echoOf(readBody(request).provider, { raw: flagOf(request, 'rawConfig') })

  on('POST /identity-providers/test', (request, reply) =>
    repeating(request, { sent: sentRecord, behaviour }, async () => {
      flagOf(request, 'rawConfig') // refused before the directory is asked
      const { provider, attempt } = readBody(request)
      return answer(reply, await ask(provider, attempt))
    }),
  )

  function answer(reply: FastifyReply, result: DirectoryResult | Fault): FastifyReply {
    switch (result.outcome) {
      case 'found':
        return sendJson(reply, 'ok')
      case 'bad-credentials':
        return sendJson(reply, 'bad credentials', 417)
      case 'fault':
        return sendJson(reply, 'check server logs', 500)
      case 'misconfigured':
        throw refuseWith(400, `The directory cannot be used: ${result.reason}`)
      case 'unreachable': {
        log.refusal(`POST /identity-providers/test: ${result.reason}`)
        throw refuseWith(400, TEXTS[result.because])
      }
    }
  }
}

function readBody(request: FastifyRequest): { readonly provider: JsonRecord; readonly attempt: DirectoryAttempt } {
  const { provider, credentials } = jsonBody(request)
  if (!isJsonRecord(provider)) throw new MalformedInput('provider must be an object')
  if (provider['type'] !== 'ldap') throw new MalformedInput('Only providers of type ldap can be tested')
  if (!isJsonRecord(credentials)) throw new MalformedInput('credentials must be an object')
  const { username, password } = credentials
  if (typeof username !== 'string') throw new MalformedInput('credentials.username must be a string')
  if (typeof password !== 'string') throw new MalformedInput('credentials.password must be a string')
  const requester = requesterOf(request)
  return { provider, attempt: { userName: username, password, requester } }
}
