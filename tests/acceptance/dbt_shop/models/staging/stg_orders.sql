select id as order_id, customer_id, total, status, ordered_at from {{ source('raw', 'raw_orders') }}
