import type { Config } from '../../config.ts'
import { loadConfig } from '../../config.ts'
import { TOKEN_GRANT_TYPES } from '../../model/clients/grant-types.ts'
import type { Question } from '../../oauth/explain/question.ts'
import type { Command } from '../command.ts'
import { readOptions, UsageError } from '../command.ts'

const KINDS = {
  config: 'string',
  database: 'string',
  zone: 'string',
  client: 'string',
  grant: 'string',
  user: 'string',
  'user-id': 'string',
  origin: 'string',
  scope: 'string',
  resource: 'string',
  'acr-values': 'string',
  audience: 'string',
  token: 'string',
  request: 'string',
  event: 'string',
  json: 'boolean',
} as const

/** The options of the command. */
export interface ExplainCall {
  readonly zoneId: string | undefined
  readonly question: Question
  readonly asJson: boolean
}

/** `latchkey explain`: explains the outcome of a request, even while the server runs. Changes nothing. */
export const explainCommand: Command = {
  name: 'explain',
  summary: 'Explain why a token has or lacks a scope, or why a request was refused. Changes nothing.',
  options: `    --config FILE      Configuration of the server           (LATCHKEY_CONFIG)
    --database URL     As for serve                          (LATCHKEY_DATABASE)
    --zone ID          The zone; absent: the default one
    --client ID        A planned request: its client
    --grant TYPE       authorization_code for a user, client_credentials without one, unless given;
                       refresh_token and exchange read the token of --token -
    --user NAME        Its user; --origin KEY for one of another provider, or --user-id ID
    --scope "A B"      Its scopes; also --resource URI, --acr-values LEVELS, --audience NAME
    --token -          A token, from standard input; or the id of one that is stored
    --request ID       A refusal, by X-Request-Id; needs audit.enabled and log.requests
    --event NUMBER     A refusal, by its number in the audit trail
    --json             Everything, as the API has it
`,
  async run(args) {
    const { config: file, database, zone, json = false, ...asked } = readOptions(args, KINDS)
    const isOfToken = asked.token !== undefined
    if (isOfToken && asked.token !== '-')
      throw new UsageError("--token must be '-': a token is read from standard input")
    const token = isOfToken ? await readStandardInput() : undefined
    const call: ExplainCall = { zoneId: zone, question: questionOf(asked, token), asJson: json }
    const options = { ...(file !== undefined && { config: file }), ...(database !== undefined && { database }) }
    const config: Config = await loadConfig({ options })
    const { runExplain } = await import('./run-explain.ts') // loads the store, so only for a valid command line
    process.stdout.write(await runExplain(config, call))
    return 0
  },
}

type ExplainOptions = Omit<ReturnType<typeof readOptions<typeof KINDS>>, 'config' | 'database' | 'zone' | 'json'>

const URN = 'urn:ietf:params:oauth:grant-type:'
/** Short names of the grants that have long ones. */
const SHORT: Readonly<Record<string, string>> = {
  device: `${URN}device_code`,
  exchange: `${URN}token-exchange`,
  'jwt-bearer': `${URN}jwt-bearer`,
  'saml2-bearer': `${URN}saml2-bearer`,
}

function questionOf(asked: ExplainOptions, token: string | undefined): Question {
  const { client, request, event } = asked
  const questions = [client, request, event, client === undefined ? token : undefined]
  if (questions.filter(each => each !== undefined).length !== 1) {
    throw new UsageError('explain requires one of --client, --token -, --request or --event')
  }
  if (request !== undefined) return { kind: 'refusal', requestId: request }
  if (event !== undefined) return { kind: 'refusal', event: numberIn(event) }
  if (client === undefined) return { kind: 'token', token: token ?? '' }
  const { user: userName, 'user-id': id, origin, scope, resource, 'acr-values': acrValues, audience } = asked
  if (id !== undefined && (userName !== undefined || origin !== undefined)) {
    throw new UsageError('--user-id cannot be used with --user or --origin')
  }
  const user = id !== undefined ? { id } : userName === undefined ? undefined : { userName, origin }
  const named = asked.grant ?? (user ? 'authorization_code' : 'client_credentials')
  const grantType = SHORT[named] ?? named
  if (!TOKEN_GRANT_TYPES.some(type => type === grantType)) {
    const short = Object.entries(SHORT)
    const names = TOKEN_GRANT_TYPES.map(type => short.find(([, long]) => long === type)?.[0] ?? type)
    throw new UsageError(`--grant must be one of ${names.join(', ')}`)
  }
  const isExchange = grantType === SHORT['exchange']
  if (token !== undefined && grantType !== 'refresh_token' && !isExchange) {
    throw new UsageError('--token - with --client is only for refresh_token and exchange')
  }
  return {
    kind: 'planned',
    planned: {
      clientId: client,
      grantType,
      user,
      scope,
      acrValues,
      audience,
      resources: resource === undefined ? [] : [resource],
      ...(token !== undefined && (isExchange ? { subjectToken: token } : { refreshToken: token })),
    },
  }
}

function numberIn(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError('--event must be the number of an event')
}

/** A longer input is no token; the message says so. */
const MAX_INPUT_LENGTH = 65_536

async function readStandardInput(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > MAX_INPUT_LENGTH) break
  }
  const token = text.trim().slice(0, MAX_INPUT_LENGTH)
  if (token === '') throw new UsageError('--token - reads the token from standard input, which is empty')
  return token
}
