// Maps clients to rows and back.
import type { ClientMetadata } from '../../model/clients/client-metadata.ts'
import { clientFields } from '../../records/client.ts'
import { columnsOf, rowMapping } from '../../records/record.ts'
import { withoutNulls } from '../rows.ts'
import type { Flag } from '../schema.ts'

/** The columns of a client's record. */
export const CLIENT_COLUMNS = columnsOf(clientFields)

/** Map a client to its row and back. */
export const { toRow: toClientRow, toRecord: toClient } = rowMapping(clientFields)

/** The columns of a client that are not part of its record. */
export interface MetadataRow {
  client_id: string
  name: string | null
  show_on_home_page: Flag
  app_launch_url: string | null
  app_icon: string | null
  created_by: string | null
}

/** Reads the display metadata of a row. */
export const toMetadata = (row: MetadataRow): ClientMetadata =>
  withoutNulls<ClientMetadata>({
    clientId: row.client_id,
    clientName: row.name,
    showOnHomePage: row.show_on_home_page === 1,
    appLaunchUrl: row.app_launch_url,
    appIcon: row.app_icon,
    createdBy: row.created_by,
  })
