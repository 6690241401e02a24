// Replaces the certificate of a running server when its files change. Connections stay as they are.
import { unwatchFile, watchFile } from 'node:fs'
import type { Server } from 'node:tls'
import type { Clock } from '../base/clock.ts'
import type { TlsFiles } from '../base/tls-files.ts'
import { certificateWarning, readTls } from '../base/tls-files.ts'

/** Both files are usually replaced one after the other. */
const LOOK_EVERY_MS = 2000

/** Keeps the old certificate, and logs that, while the new files do not fit together. */
export function reloadTlsFiles(
  server: Pick<Server, 'setSecureContext'>,
  files: TlsFiles,
  { log, clock }: { log: { info(message: string): void; warn(message: string): void }; clock: Clock },
): () => void {
  let current = JSON.stringify(readTls(files))

  function reload(): void {
    const read = readTls(files)
    const text = JSON.stringify(read)
    if (text === current) return
    current = text
    if (read.problem === undefined) {
      server.setSecureContext({ ...read.context })
      log.info('TLS: the new certificate is in use')
      const warning = certificateWarning(read.context.cert, { now: clock.now() })
      if (warning !== undefined) log.warn(`TLS: ${files.certificate} ${warning}; callers will refuse it`)
    } else {
      log.warn(`TLS: the old certificate stays in use: ${files[read.of]} ${read.problem}`)
    }
  }

  // By comparing, not by notification: files are often links of a volume, which are exchanged somewhere else.
  const watched = [files.certificate, files.privateKey]
  for (const file of watched) watchFile(file, { interval: LOOK_EVERY_MS, persistent: false }, reload)
  return () => {
    for (const file of watched) unwatchFile(file, reload)
  }
}
