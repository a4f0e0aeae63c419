select o.order_id, o.customer_id, c.name as customer_name, o.total, o.status, o.ordered_at
from {{ ref('stg_orders') }} o join {{ ref('raw_customers') }} c on c.id = o.customer_id
