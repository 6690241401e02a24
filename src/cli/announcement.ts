import type { Config } from '../config.ts'
import type { BuildFacts } from '../ops/build.ts'
import type { Paint } from '../ops/terminal.ts'

type Announced = Pick<Config, 'baseUrl' | 'listen' | 'playground'>

/** Printed on a separate line, without colour, so that it can be copied. */
const curlLine = (baseUrl: string): string =>
  `curl -s -u app:appclientsecret -d grant_type=password -d username=marissa -d password=koala ${baseUrl}/oauth/token`

const PUBLIC = 'This is the playground: its accounts and secrets are public. Never let others reach it.'

function addressOf({ host, port }: Announced['listen']): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The start message as a line of the log, without its time. */
export const announcementLine = ({ baseUrl, listen }: Announced, { version }: Pick<BuildFacts, 'version'>): string =>
  `Latchkey ${version} is ready at ${baseUrl}, listening on ${addressOf(listen)}, with Node.js ${process.versions.node}`

/** The start message of the playground if standard output is a file or pipe. */
export function plainAnnouncement({ baseUrl, listen }: Announced): string {
  const lines = [
    `Latchkey is ready at ${baseUrl}`,
    `Listening on ${addressOf(listen)}`,
    '',
    PUBLIC,
    'Get a token:',
    curlLine(baseUrl),
    'Sign in with a browser, as marissa with the password koala:',
    `${baseUrl}/login`,
    `Mails are shown at ${baseUrl}/outbox`,
    `Every endpoint: ${baseUrl}/docs`,
  ]
  return `${lines.join('\n')}\n`
}

/** The start message on a terminal. */
export function terminalAnnouncement({ baseUrl, listen, playground }: Announced, paint: Paint): string {
  const rows: readonly (readonly [label: string, value: string, note?: string])[] = [
    ['Sign in', `${baseUrl}/login`, playground ? 'as marissa, password koala' : ''],
    ['Endpoints', `${baseUrl}/docs`],
    ['Discovery', `${baseUrl}/.well-known/openid-configuration`],
    ...(playground ? [['Mails', `${baseUrl}/outbox`] as const] : []),
    ['Listening on', addressOf(listen)],
    ['Stop', 'Ctrl+C'],
  ]
  const lines = [
    '',
    `${paint('green', '●')} ${paint('bold', 'Latchkey')} is ready at ${paint('cyan', baseUrl)}`,
    '',
    ...rows.map(([label, value, note = '']) => {
      const shown = value.startsWith('http') ? paint('cyan', value) : value
      return `  ${paint('dim', label.padEnd(14))}${shown}${note === '' ? '' : `  ${paint('dim', note)}`}`
    }),
    '',
  ]
  if (playground)
    lines.push(`  ${paint('dim', 'Get a token:')}`, '', curlLine(baseUrl), '', `  ${paint('yellow', PUBLIC)}`, '')
  return `${lines.join('\n')}\n`
}
