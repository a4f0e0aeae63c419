select * from {{ ref('orders') }} where cast(total as double) < 0
